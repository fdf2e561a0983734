"""fastrank."""
