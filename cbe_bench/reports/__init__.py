"""What is made from the results of many experiments: the page, the table of claims, comparisons, README parts."""
