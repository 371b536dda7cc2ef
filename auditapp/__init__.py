"""The site, and the machine half of the product."""
