"""Reports: their sections read as the actor, printed as PDF or written as a workbook."""
