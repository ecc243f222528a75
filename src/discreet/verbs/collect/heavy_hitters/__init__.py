"""Which strings do many people have, when nobody knows beforehand what they could be?"""
