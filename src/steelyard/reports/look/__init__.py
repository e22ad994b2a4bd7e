"""The page of a look of a monitor: alerts, all series small, and the control chart of any of them."""
