"""The ten verbs, a package each: anyone who knows what they want to do knows where the code is.

The function of a verb is at the root (``discreet.publish``); what else its package offers is imported from here
(``from discreet.verbs import collect``), since a function and a package cannot share one name.
"""
