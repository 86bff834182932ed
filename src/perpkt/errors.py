"""Every way in which perpkt says no, and the exit code that each one becomes.

    PerpktError                                              exit
      UsageError          the plan or an option                 2
      HostError           this machine or these privileges      3
        NotPermitted        a privilege is missing
        Unsupported         the kernel lacks a feature
        ToolMissing         a program is not installed
      KernelError         a system call or a tool was refused   4
        BpfError            with the verifier's last words
        NetlinkError        with the extended ack's words
        CommandError        with what ip, tc, nft or iptables said
      MeasurementError    the numbers can't be trusted          5
        WrongFate           the packets met another fate
        PacketsLost         the packets do not add up
        NotSettled          a counter or a device never came to rest
        TooNoisy            too few undisturbed windows
      ResultError         a result file                         7
        SchemaMismatch      not perpkt's, or from another version
        Incomparable        unlike hosts, kernels, boots or plans
      OutputError         the output can't be written           8

A message says the act, the object, the kernel's own words, and the next step.
"""

from __future__ import annotations

import errno
import os

_LIMITS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EAGAIN)


# What a shell says of a program that Ctrl-C has ended: no error of the tree, and an exit code all the same.
INTERRUPTED = 130


class PerpktError(Exception):
    """The root of the tree; `exit_code` is what the command line ends with."""

    exit_code = 70


class UsageError(PerpktError):
    """The plan or an option can't be meant as it was given."""

    exit_code = 2


class HostError(PerpktError):
    """This machine can't do it; `remedy` says what would help."""

    exit_code = 3

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason}\n{remedy}" if remedy else reason)
        self.reason = reason
        self.remedy = remedy


class NotPermitted(HostError):
    """A privilege is missing."""


class Unsupported(HostError):
    """The running kernel lacks a feature."""


class ToolMissing(HostError):
    """A program that does the work is not installed."""


class KernelError(PerpktError):
    """The kernel refused; `errno` is its reason, 0 where only a tool's text is known."""

    exit_code = 4

    def __init__(self, act: str, number: int, words: str = "") -> None:
        reason = words or os.strerror(number)
        super().__init__(f"{act}: {reason}")
        self.errno = number

    @property
    def is_limit(self) -> bool:
        """Whether a limit of this process or machine was met: it says nothing of what the kernel can do."""
        return self.errno in _LIMITS


class BpfError(KernelError):
    """bpf(2) refused; the verifier's last words stand in the message."""


class NetlinkError(KernelError):
    """A netlink request was refused; the extended ack's words stand in the message where the kernel gave any."""


class CommandError(KernelError):
    """ip, tc, nft or iptables ended with an error; its words stand in the message."""


class MeasurementError(PerpktError):
    """The numbers can't be trusted, so they are not given."""

    exit_code = 5


class WrongFate(MeasurementError):
    """The packets ended elsewhere than the path says."""


class PacketsLost(MeasurementError):
    """Packets that were sent are in no counter."""


class NotSettled(MeasurementError):
    """A counter or a device did not come to rest before the deadline."""


class TooNoisy(MeasurementError):
    """The machine was so disturbed that no cost can be read."""


class ResultError(PerpktError):
    """A result file can't be used."""

    exit_code = 7


class SchemaMismatch(ResultError):
    """The file is not a result, or its schema is not this version's."""


class Incomparable(ResultError):
    """Two results are of unlike hosts, kernels, boots or plans."""


class OutputError(PerpktError):
    """The output can't be written."""

    exit_code = 8
