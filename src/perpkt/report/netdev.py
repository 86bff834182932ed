"""The form in which such figures are posted to netdev: plain ASCII, 72 columns, ready to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perpkt.report import notes
from perpkt.report.figures import TIE, change, change_alone, figure, is_noise, line, mpps, wrap

if TYPE_CHECKING:
    from perpkt.analysis import Row, Summary
    from perpkt.result import Host, Result

WIDTH = 72


def render(result: Result, summary: Summary) -> str:
    """What was measured, the ladder, a result line for each path, the host, the method, the doubts."""
    blocks = [
        _lead(result),
        [one for row in summary.rows for one in _rung(row, summary.reference)],
        [one for row in summary.rows for one in _result_line(row, result.heading.plan.frame_bytes)],
        _host(result.heading.host),
        _method(summary),
        _doubts(summary),
    ]
    return _ascii("\n\n".join("\n".join(block) for block in blocks if block) + "\n")


def _lead(result: Result) -> list[str]:
    sentence = (
        f"Cost of one packet on each path, on one CPU, by perpkt {line(result.heading.perpkt)}, "
        f"kernel {line(result.heading.host.kernel)}, {notes.frames(result)}:"
    )
    return _wrapped(sentence, "")


def _rung(row: Row, reference: str) -> list[str]:
    """As a person would write it: what was added, then the rate; under it the path's name and what it costs."""
    step = f", step {change(row.step)}" if row.step is not None else ""
    over = f", {change_alone(row.difference)} over {line(reference)}" if row.difference not in (None, row.step) else ""
    said = _wrapped(f"{line(row.summary)} - {mpps(row.rate_pps)}{TIE}Mpps")
    return said + _wrapped(f"  {line(row.name)}: {figure(row.cost.value)}{TIE}ns/pkt{step}{over}", "    ")


def _result_line(row: Row, frame_bytes: int) -> list[str]:
    """In the form of pktgen's result, but labelled as perpkt's: the rate is that of the quiet windows."""
    errors = row.sent - sum(row.fate.values())
    verdict = "LOST" if errors else "OK"
    packets = f"{row.sent}{TIE}packets ({frame_bytes}byte,0frags)"
    rate = f"{_whole(row.rate_pps)}pps {_whole(row.rate_pps * frame_bytes * 8 / 1e6)}Mb/sec"
    head = _wrapped(f"perpkt: {verdict}: {line(row.name)} {packets}")
    return head + _wrapped(f"  {rate} {figure(row.cost.value)}ns/pkt errors: {errors}")


def _whole(value: float) -> str:
    # Truncated as pktgen's own division truncates.
    return "unknown" if figure(value) == "unknown" else str(int(value))


def _host(host: Host) -> list[str]:
    return [
        *_wrapped(f"host: {notes.host(host)}"),
        *_wrapped(f"mitigations: {_mitigations(host)}"),
        *_wrapped(f"preemption: {line(host.preemption)}, clocksource {line(host.clocksource)}, "
                  f"BPF JIT {line(host.bpf_jit)}"),
    ]  # fmt: skip


def _mitigations(host: Host) -> str:
    """Those that cost something: what the CPU is not affected by is left out, details too."""
    active = {name: line(words) for name, words in host.mitigations.items() if words.strip() != "Not affected"}
    said = [f"{line(name)} ({words.removeprefix('Mitigation: ').split(';')[0]})" for name, words in active.items()]
    return ", ".join(said) or "none reported"


def _method(summary: Summary) -> list[str]:
    roads = [f"method: live frames, {road}" if i == 0 else road for i, road in enumerate(notes.roads(summary.rows))]
    sentences = [*roads, notes.extent(summary), notes.same_path(summary), notes.resolution(summary), *_marks(summary)]
    return [one for sentence in sentences for one in _wrapped(sentence)]


def _marks(summary: Summary) -> list[str]:
    marked = any(is_noise(row.step) for row in summary.rows)
    noise = ["=: the interval holds 0, no difference was seen"] if marked else []
    return ["intervals are 95 %; rates are 1e9 / (ns/pkt), of undisturbed windows", *noise]


def _doubts(summary: Summary) -> list[str]:
    sentences = [*map(notes.missing, summary.unavailable), *map(notes.caveat, summary.caveats)]
    return [one for sentence in sentences for one in _wrapped(sentence)]


def _wrapped(sentence: str, indent: str = "  ") -> list[str]:
    return wrap(sentence, WIDTH, indent)


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode("ascii")
