import strawberry

from schema.assessment_mutations import AssessmentMutations
from schema.defect_mutations import DefectMutations


@strawberry.type
class Mutation(DefectMutations, AssessmentMutations):
    pass
