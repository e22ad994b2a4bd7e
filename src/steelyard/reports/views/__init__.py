"""What is shown of each kind of result: sheets of columns, notes and paragraphs; every format is written from them."""
