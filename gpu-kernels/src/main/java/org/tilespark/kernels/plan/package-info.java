/**
 * Plans: pure values that say what is asked, which strategy answers it and with which launch. Start
 * from {@link org.tilespark.kernels.plan.TransposePlanner}. Running a plan decides nothing, so all
 * that is decided here is tested without a GPU.
 *
 * <p>Depends on {@code org.tilespark.layout} and the JDK; imports nothing of CUDA.
 */
package org.tilespark.kernels.plan;
