"""Tests read English reports, wherever they run, and try properties as often as the profile says."""

import os

from hypothesis import settings

from tests.hypothesis_profiles import PROFILE

os.environ["LC_ALL"] = "C.UTF-8"
settings.load_profile(PROFILE)
