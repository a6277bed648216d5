from .arrays import problem as problem
from .data.svmlight import read_svmlight as read_svmlight
from .driver import minimize as minimize
from .errors import FenchelError as FenchelError
from .errors import FenchelWarning as FenchelWarning
from .errors import Incompatible as Incompatible
from .errors import InvalidCertificate as InvalidCertificate
from .errors import InvalidData as InvalidData
from .errors import NotConverged as NotConverged
from .estimators import Classifier as Classifier
from .estimators import NoveltyDetector as NoveltyDetector
from .estimators import PoissonRegressor as PoissonRegressor
from .estimators import QuantileRegressor as QuantileRegressor
from .estimators import Regressor as Regressor
from .model.file import load as load
from .model.file import save as save
from .model.onnx import to_onnx as to_onnx
from .protocols import Problem as Problem
from .report.plots import plot as plot
from .result import Certificate as Certificate
from .result import Record as Record
from .result import Result as Result
from .result import Status as Status
from .solvers import solver as solver
from .verification import verify as verify
from .witness import Witness as Witness

__version__: str
