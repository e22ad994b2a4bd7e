"""Two arms of users compared: ratios, shares, rare events, percentiles, each with an interval and a test."""
