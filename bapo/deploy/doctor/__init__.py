"""`bapo doctor`: checks a deployment. `probes` collects facts, `judgements` rates them."""
