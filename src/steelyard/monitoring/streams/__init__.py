"""Streams that ask or judge by themselves: questions asked again of the live system, and answers of logs judged."""
