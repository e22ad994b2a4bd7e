"""How many examples a property is tried with: a tenth of what its test names, or all in the thorough profile.

`HYPOTHESIS_PROFILE=thorough` chooses the latter, as `make test-thorough` does.
"""

import os

from hypothesis import settings

_PROFILES = {"quick": 0.1, "thorough": 1.0}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
assert PROFILE in _PROFILES, f"HYPOTHESIS_PROFILE is {PROFILE!r}; choose one of {', '.join(_PROFILES)}"

for _name, _share in _PROFILES.items():
    settings.register_profile(_name, max_examples=round(100 * _share), deadline=None)


def examples(n: int) -> settings:
    """Settings of a test with n examples in the thorough profile."""
    return settings(max_examples=max(round(n * _PROFILES[PROFILE]), 6), deadline=None)
