package org.tilespark.spark.linalg;

/** One result of a factorisation, under its name. */
record Factor(String name, Dense matrix) {}
