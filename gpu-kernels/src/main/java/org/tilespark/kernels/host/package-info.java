/**
 * The host twins, in plain Java: oracles of the device twins, and what runs without a GPU. Start
 * from {@link org.tilespark.kernels.host.HostTransposer}.
 */
package org.tilespark.kernels.host;
