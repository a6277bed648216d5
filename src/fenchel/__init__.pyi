from .arrays import problem as problem
from .driver import minimize as minimize
from .errors import FenchelError as FenchelError
from .errors import FenchelWarning as FenchelWarning
from .errors import Incompatible as Incompatible
from .errors import InvalidCertificate as InvalidCertificate
from .errors import InvalidData as InvalidData
from .errors import NotConverged as NotConverged
from .protocols import Problem as Problem
from .result import Certificate as Certificate
from .result import Record as Record
from .result import Result as Result
from .result import Status as Status
from .solvers import solver as solver
from .verification import verify as verify
from .witness import Witness as Witness

__version__: str
