"""A running system over time: series of what is watched, alarms within a budget, and where they are sent."""
