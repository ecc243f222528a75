"""Heavy hitters: strings that many people have, when nobody knows beforehand what they could be."""
