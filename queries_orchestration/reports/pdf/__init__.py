"""A report printed as PDF: HTML by templates, charts as vectors, pages by WeasyPrint."""
