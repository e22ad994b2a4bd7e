"""The stages that come with Steelyard."""
