"""The compat room: other tools' interfaces over our kernels, so that a changed import is all it takes.

- `fastrank.compat.pytrec_eval`: `RelevanceEvaluator` and the rest of pytrec_eval.
- `fastrank.compat.sklearn`: the ranking scores of `sklearn.metrics`, also for lists of different lengths.
- `fastrank.compat.ir_measures`: a provider for ir_measures, registered when the module is imported.

None of them imports the tool that it stands for, but the last, which plugs into it.
"""
