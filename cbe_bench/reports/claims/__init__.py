"""The claims of the paper, judged by what was measured."""
