"""`bapo doctor`: what is wrong with a deployment. `probes` finds facts out, `judgements` decides about them."""
