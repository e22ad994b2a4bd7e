"""The one door: paths and objects in, systems on the scale, Scores out."""
