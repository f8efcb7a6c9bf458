"""How dates are written in each language, where Django does it in another way."""
