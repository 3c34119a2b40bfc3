"""Excel files as a stream: from the texts of a result to the bytes of a workbook, page by page."""
