package org.tilespark.bench.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KernelChartTest {
  private static final String HEADER =
      "shape,order,width_bytes,gb_per_s,copy_gb_per_s,torch_gb_per_s,triton_gb_per_s";

  @Test
  void drawsAPicture(@TempDir Path dir) throws IOException {
    Path png = dir.resolve("chart.png");
    KernelChart.draw(
        List.of(
            "# NVIDIA H200; commit abc",
            HEADER,
            "16384x16384,1-0,4,4100.0,4200.0,1150.0,",
            "512x512x512,1-2-0,8,4150.0,4240.0,,"),
        png);
    var image = ImageIO.read(png.toFile());
    assertTrue(image.getWidth() >= 800, () -> image.getWidth() + " pixels");
    assertEquals(900, image.getHeight());
  }

  @Test
  void namesWhatIsMissing(@TempDir Path dir) {
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> KernelChart.draw(List.of("shape,order", "1x1,1-0"), dir.resolve("x.png")))
            .getMessage();
    assertEquals("The CSV has no column width_bytes; found shape, order", message);
  }
}
