"""A report as an Excel workbook: a sheet a section, native charts, by openpyxl."""
