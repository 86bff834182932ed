"""Bytes only: frames and eBPF instructions. Nothing here touches the machine."""
