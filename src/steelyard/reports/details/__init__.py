"""Single questions as plain data, cut to what a page can hold: gold, lists, texts and answers."""
