"""The command that says what another ranking would have got, from the log of the one that served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.cli.calls import Call

STATUS = {"better": 0, "worse": 0, "unclear": 0, "few": 3, "refused": 3}
"""Exit status by verdict: 3 where the log cannot say."""


def off_policy(call: Call, logs: list[str], *, policy: str, **options: Any) -> int:
    """Evaluate a policy by logs, and return the status."""
    result = call.compute(logs, policy, **options)
    is_better = result.verdict == "better" and result.metric == "click"
    plan = ["ab", "plan", "--metric", f"clicks@{result.k}", "--from", *logs, "--difference", "5%"]
    call.write(result, following=plan if is_better else [])
    return STATUS[result.verdict]
