import strawberry

from schema.access import AccessMutations
from schema.assessment_mutations import AssessmentMutations
from schema.defect_mutations import DefectMutations
from schema.document_mutations import DocumentMutations
from schema.protocols import ProtocolMutations
from schema.reviews import ReviewMutations


@strawberry.type
class Mutation(
    DefectMutations, AssessmentMutations, DocumentMutations, ReviewMutations, ProtocolMutations, AccessMutations
):
    pass
