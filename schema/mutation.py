import strawberry

from schema.access import AccessMutations
from schema.assessment_mutations import AssessmentMutations
from schema.benchmark_mutations import BenchmarkMutations
from schema.cell_mutations import CellMutations
from schema.defect_mutations import DefectMutations
from schema.document_mutations import DocumentMutations
from schema.expected_mutations import ExpectedMutations
from schema.metric_mutations import MetricMutations
from schema.model_mutations import ModelMutations
from schema.protocols import ProtocolMutations
from schema.reviews import ReviewMutations
from schema.row_mutations import RowMutations
from schema.run_mutations import RunMutations
from schema.track_mutations import TrackMutations


@strawberry.type
class Mutation(
    DefectMutations,
    AssessmentMutations,
    DocumentMutations,
    ReviewMutations,
    ProtocolMutations,
    ModelMutations,
    MetricMutations,
    BenchmarkMutations,
    TrackMutations,
    RowMutations,
    CellMutations,
    ExpectedMutations,
    RunMutations,
    AccessMutations,
):
    pass
