"""How calls are ordered, sized, made and accounted for."""
