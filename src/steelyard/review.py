"""Labels by people: draw what they are asked about, import their labels, and learn what these say of a judge.

sample         draw sentences of judged answers at random, and write a form in which people label them
pool           draw pooled documents, and write a form in which people grade them, or quote the gold from them
import_labels  import labels from review forms, beside the verdicts
report         agreement of raters, the judge beside people, and means corrected by their labels
calibrate      a judge held against people's labels: threshold, agreement, sensitivity and specificity
"""

from __future__ import annotations

from steelyard.reports.reviewing import pool_review as pool
from steelyard.reports.reviewing import sample_review as sample
from steelyard.reviewing.calibrating import calibrate_review as calibrate
from steelyard.reviewing.importing import import_review as import_labels
from steelyard.reviewing.reporting import report_review as report

__all__ = ["calibrate", "import_labels", "pool", "report", "sample"]
