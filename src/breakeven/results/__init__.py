"""What the analyses answer with: plain frozen records that every report, file and test shares."""

from __future__ import annotations

from breakeven.results.records import (
    Account,
    BreakEven,
    DeviceResult,
    Finding,
    Interval,
    Remedy,
    Share,
    Site,
    Verdict,
    WhyReport,
)  # fmt: skip

__all__ = ["Account", "BreakEven", "DeviceResult", "Finding", "Interval", "Remedy", "Share", "Site", "Verdict", "WhyReport"]
