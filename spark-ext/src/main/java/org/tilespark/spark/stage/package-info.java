/**
 * The stage that runs operators block by block. Start from {@link
 * org.tilespark.spark.stage.BlockStageExec}.
 */
package org.tilespark.spark.stage;
