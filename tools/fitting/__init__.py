"""How the weights of the prices are fitted: measurements in, `costs/data/*.json` out."""
