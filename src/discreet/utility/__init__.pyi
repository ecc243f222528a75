from discreet.utility.faithful.measure import fidelity as fidelity
from discreet.utility.faithful.report import Fidelity as Fidelity
from discreet.utility.measure import METRICS as METRICS
from discreet.utility.measure import Lost as Lost
from discreet.utility.measure import loss as loss
