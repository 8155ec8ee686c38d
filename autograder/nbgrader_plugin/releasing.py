"""What the kit adds to nbgrader's own `generate_assignment`: a failing check does not stop a notebook that is run as a whole."""

from nbgrader.preprocessors import NbGraderPreprocessor

GOES_ON = "raises-exception"  # JupyterLab, VS Code and nbclient go on after an error in a cell with this tag


class RunAll(NbGraderPreprocessor):
    """Tags the cells with checks, so that Run All shows every check's sentence; validation and grading see the error."""

    def preprocess_cell(self, cell, resources, cell_index):
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade"):
            tags = cell.metadata.get("tags", [])
            cell.metadata["tags"] = [*tags, *({GOES_ON} - set(tags))]
        return cell, resources
