"""perpkt.kernel.drop_reasons without a kernel: names and refusals."""

from __future__ import annotations

import errno

import pytest

from perpkt.errors import BpfError, HostError, NotPermitted, Unsupported
from perpkt.kernel import drop_reasons


@pytest.mark.parametrize(
    ("bucket", "label"),
    [
        (3, "NO_SOCKET"),
        (500, "reason 500"),
        (1022, "reason 1022"),
        (1023, "reason 1023 and above"),
        (1024 + 2, "subsystem 2"),
    ],
)
def test_a_bucket_says_what_it_counts(bucket: int, label: str) -> None:
    """A known reason has BTF's name, another its number, a subsystem's the subsystem's number."""
    assert drop_reasons._label(bucket, {3: "NO_SOCKET"}) == label


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EPERM, NotPermitted),
        (errno.EACCES, NotPermitted),
        (errno.EINVAL, Unsupported),
        (errno.ENOENT, Unsupported),
    ],
)
def test_a_refusal_says_whether_privileges_or_the_kernel_lack(number: int, kind: type[HostError]) -> None:
    """A missing privilege is NotPermitted and all else Unsupported, each with a remedy."""
    refusal = drop_reasons._refusal(BpfError("load", number))
    assert isinstance(refusal, kind)
    assert refusal.remedy


def test_a_refusal_for_want_of_memory_or_descriptors_stays_what_it_is() -> None:
    """Neither privileges nor another kernel would help, so the kernel's own error is given."""
    error = BpfError("load", errno.EMFILE)
    assert drop_reasons._refusal(error) is error
