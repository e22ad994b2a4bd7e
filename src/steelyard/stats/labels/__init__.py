"""Labels of people: how far raters agree, and means and thresholds that labels correct."""
