/**
 * Parts that all packages of this module share: {@link org.tilespark.kernels.ResourceException},
 * for missing resources of a machine, and {@link org.tilespark.kernels.OwnFiles}, the check of
 * files before they are loaded or trusted. Depends on the JDK only.
 */
package org.tilespark.kernels;
