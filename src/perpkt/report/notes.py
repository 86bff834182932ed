"""The sentences round a table: what was measured on, how, how well, and with which doubts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from perpkt.report.figures import TIE, accounted, change, ends, fates, figure, is_known, is_noise, line, percent, total

if TYPE_CHECKING:
    from perpkt.analysis import Row, Summary
    from perpkt.result import Caveat, Host, Missing, Result


def host(host: Host) -> str:
    """Kernel, CPU model and virtualisation."""
    where = f"virtualisation {line(host.virtualisation) or 'unknown'}"
    return (
        f"Linux {line(host.kernel)} {line(host.machine)}, {line(host.cpu_model)}, {host.cpus_online}{TIE}CPUs, {where}"
    )


def frames(result: Result) -> str:
    """The frame size, which counts the Ethernet header."""
    plan = result.heading.plan
    where = "" if plan.cpu is None else f" on CPU {plan.cpu}"
    return f"{plan.frame_bytes}-byte frames (FCS not counted){where}"


def roads(rows: tuple[Row, ...]) -> list[str]:
    """How the frames enter the stack: said once, then the paths that are not like most."""
    named = Counter(row.road for row in rows).most_common()
    lines = [line(named[0][0])] if named else []
    for road, _ in named[1:]:
        names = ", ".join(line(row.name) for row in rows if row.road == road)
        lines.append(f"{names}: {line(road)}")
    return lines


def same_path(summary: Summary) -> str:
    """What the A/A pairs read: their difference is 0 by construction."""
    pairs = [f"{line(pair.name)} {change(pair.difference, marked=False)}" for pair in summary.same_path]
    return "same path twice: " + ("; ".join(pairs) or "not measured")


def resolution(summary: Summary) -> str:
    """How small a difference the run could have seen."""
    smallest = figure(summary.resolution_ns)
    return f"smallest difference that this run could have seen: {smallest}{TIE}ns (80 % power; half of the paths less)"


def extent(summary: Summary) -> str:
    """Rounds, testbeds, time and how much of it counts."""
    return (
        f"{summary.rounds} rounds, {summary.testbeds} testbeds, {figure(summary.duration_s)}{TIE}s, "
        f"{percent(summary.timed_share)} of it inside timed windows, "
        f"at least {percent(summary.quiet_share)} of these quiet"
    )


def packets(result: Result, summary: Summary) -> list[str]:
    """The packets before timing and while timing, apart."""
    verifications = result.heading.verifications
    verified = accounted(sum(one.sent for one in verifications), total([one.fate for one in verifications]))
    timed = accounted(sum(row.sent for row in summary.rows), total([row.fate for row in summary.rows]))
    return [f"verified before timing: {verified}", f"timed: {timed}"]


def mixed_fates(rows: tuple[Row, ...]) -> list[str]:
    """The paths whose packets ended in more than one way."""
    return [f"{line(row.name)} ended as {fates(row.sent, row.fate)}" for row in rows if is_mixed(row)]


def all_fates(rows: tuple[Row, ...]) -> list[str]:
    """Where the packets of each path ended; paths of one fate share a line."""
    named: dict[str, list[str]] = {}
    for row in rows:
        named.setdefault(fates(row.sent, row.fate), []).append(line(row.name))
    return [f"ended as {fate}: {', '.join(names)}" for fate, names in named.items()]


def is_mixed(row: Row) -> bool:
    """Whether the packets ended in more than one way, or nowhere."""
    return len(ends(row.sent, row.fate)) != 1


def legend(summary: Summary) -> list[str]:
    """What the columns and marks of the table mean; marks that are not used are left out."""
    estimates = [one for row in summary.rows for one in (row.step, row.difference) if one is not None]
    lines = [
        f"step: ns/packet over the row above, with its 95{TIE}% interval; difference: over {line(summary.reference)}",
        "typical: the median in ns/packet, contention included",
    ]
    if any(map(is_noise, estimates)):
        lines.append("=: the interval holds 0, so no difference was seen and none is claimed")
    if not all(map(is_known, [*estimates, *(row.cost for row in summary.rows)])):
        lines.append("unknown, ?: too few quiet calls for an interval; measure longer")
    return lines


def missing(one: Missing) -> str:
    """A path that was not measured, why, and what would help."""
    remedy = f"; {line(one.remedy)}" if one.remedy else ""
    return f"not measured: {line(one.name)}: {line(one.reason)}{remedy}"


def caveat(one: Caveat) -> str:
    """A reason to doubt, and what it is about."""
    about = f"{line(one.about)}: " if one.about else ""
    return f"caveat: {about}{line(one.text)} ({line(one.code)})"
