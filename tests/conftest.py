"""Reports follow the locale: tests read the English ones, wherever they run."""

import os

os.environ["LC_ALL"] = "C.UTF-8"
