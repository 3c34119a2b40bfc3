"""WF-PFM-QRY-008, hop by hop: deliver a scheduled query or report to its recipients.

dispatch -> start -> resolve -> make_file -> skip_empty -> deliver -> settle; recover finds what
a killed worker left. ``receive`` strings the steps of one attempt together.
"""
