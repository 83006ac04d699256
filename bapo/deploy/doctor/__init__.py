"""`bapo doctor`: checks a deployment. `checks` collects facts, `judgements` rates them."""
