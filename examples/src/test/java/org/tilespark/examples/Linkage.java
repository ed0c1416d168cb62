package org.tilespark.examples;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.FieldVisitor;
import org.apache.xbean.asm9.Handle;
import org.apache.xbean.asm9.Label;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.apache.xbean.asm9.Type;

/**
 * Checks compiled classes against jars other than those they were compiled against: finds what
 * would be a {@code LinkageError} when it is first used.
 */
final class Linkage {
  private static final int API = Opcodes.ASM9;

  /** Classes that our jars bring, or the JDK: Spark's version does not change them. */
  private static final List<String> OTHERS =
      List.of(
          "java/",
          "javax/imageio/",
          "jdk/",
          "sun/misc/",
          "jcuda/",
          "com/sun/jna/",
          "org/jfree/",
          "org/knowm/xchart/",
          "org/tilespark/shaded/");

  /**
   * Methods of {@code Object} that an interface may declare; its lambdas need not implement them.
   */
  private static final Set<String> OF_OBJECT =
      Set.of("equals(Ljava/lang/Object;)Z", "hashCode()I", "toString()Ljava/lang/String;");

  /**
   * Members that a class file declares; {@code members} maps name and descriptor to access flags.
   */
  private record Declared(
      String name,
      String parent,
      List<String> interfaces,
      int access,
      Map<String, Integer> members) {
    boolean isAbstract() {
      return (access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_INTERFACE)) != 0;
    }

    boolean isInterface() {
      return (access & Opcodes.ACC_INTERFACE) != 0;
    }
  }

  private final URLClassLoader jars;
  private final Map<String, Optional<Declared>> cache = new HashMap<>();
  private final Map<String, Set<String>> defects = new TreeMap<>();

  private Linkage(URLClassLoader jars) {
    this.jars = jars;
  }

  /**
   * References that classes in {@code org.tilespark} need and do not find.
   *
   * @param ours directories or jars of the classes to check
   * @param others jars of everything else but what our own jars bring
   * @return defect to the names of the classes that have it; empty if all link
   */
  static Map<String, Set<String>> defects(Collection<Path> ours, Collection<Path> others) {
    List<URL> urls = new ArrayList<>();
    try {
      for (Collection<Path> each : List.of(ours, others)) {
        for (Path path : each) {
          urls.add(path.toUri().toURL());
        }
      }
      try (URLClassLoader jars =
          new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader())) {
        Linkage linkage = new Linkage(jars);
        for (Path place : ours) {
          linkage.checkAll(place);
        }
        return linkage.defects;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void checkAll(Path place) throws IOException {
    if (Files.isDirectory(place)) {
      checkBelow(place);
    } else {
      try (FileSystem jar = FileSystems.newFileSystem(place)) {
        checkBelow(jar.getPath("/"));
      }
    }
  }

  private void checkBelow(Path root) throws IOException {
    List<Path> classes;
    try (Stream<Path> files = Files.walk(root)) {
      classes = files.filter(file -> file.toString().endsWith(".class")).toList();
    }
    for (Path file : classes) {
      String name = root.relativize(file).toString();
      if (name.startsWith("org/tilespark/") && isChecked(name)) {
        check(new ClassReader(Files.readAllBytes(file)));
      }
    }
  }

  private void check(ClassReader reader) {
    String name = reader.getClassName();
    Declared declared = declared(reader);
    requireSupertypes(name, declared);
    if (!declared.isAbstract()) {
      for (String open : open(supertypes(name))) {
        add("does not implement " + open, name);
      }
    }
    reader.accept(
        new ClassVisitor(API) {
          @Override
          public MethodVisitor visitMethod(
              int access, String method, String descriptor, String signature, String[] thrown) {
            return new References(name);
          }
        },
        ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
  }

  private void requireSupertypes(String name, Declared declared) {
    requireClass(declared.parent(), name);
    declared.interfaces().forEach(type -> requireClass(type, name));
    find(declared.parent())
        .filter(parent -> (parent.access() & Opcodes.ACC_FINAL) != 0)
        .ifPresent(parent -> add("extends the final class " + parent.name(), name));
  }

  private void add(String defect, String user) {
    defects.computeIfAbsent(defect, key -> new TreeSet<>()).add(user);
  }

  private static boolean isChecked(String owner) {
    return OTHERS.stream().noneMatch(owner::startsWith);
  }

  private void requireClass(String owner, String user) {
    if (owner.startsWith("[")) {
      Type element = Type.getType(owner).getElementType();
      if (element.getSort() == Type.OBJECT) {
        requireClass(element.getInternalName(), user);
      }
    } else if (isChecked(owner) && find(owner).isEmpty()) {
      add("no class " + owner, user);
    }
  }

  private void requireMember(String owner, String member, boolean ofInterface, String user) {
    requireClass(owner, user);
    if (owner.startsWith("[") || !isChecked(owner) || find(owner).isEmpty()) {
      return;
    }
    List<Declared> all = supertypes(owner);
    if (all.stream().noneMatch(type -> type.members().containsKey(member))) {
      if (all.stream().noneMatch(this::hasUncheckedParent)) {
        add("no member " + owner + "." + member, user);
      }
    } else if (!member.contains(":") && all.get(0).isInterface() != ofInterface) {
      add("used as " + (ofInterface ? "an interface: " : "a class: ") + owner, user);
    }
  }

  /** True if it inherits members that are not looked up. */
  private boolean hasUncheckedParent(Declared type) {
    return type.parent() != null && !isChecked(type.parent()) && find(type.parent()).isEmpty();
  }

  /** A lambda implements one method; no other may be abstract. */
  private void requireOnlyAbstract(String type, String method, String user) {
    if (isChecked(type)) {
      for (String open : open(supertypes(type))) {
        String member = open.substring(open.indexOf('.') + 1);
        if (!member.equals(method) && !OF_OBJECT.contains(member)) {
          add("as a lambda does not implement " + open, user);
        }
      }
    }
  }

  /** The abstract methods among these types that none of them implements. */
  private static List<String> open(List<Declared> types) {
    List<String> open = new ArrayList<>();
    for (Declared type : types) {
      type.members()
          .forEach(
              (member, access) -> {
                boolean implemented =
                    (access & Opcodes.ACC_ABSTRACT) == 0
                        || types.stream()
                            .anyMatch(
                                other ->
                                    (other.members().getOrDefault(member, Opcodes.ACC_ABSTRACT)
                                            & Opcodes.ACC_ABSTRACT)
                                        == 0);
                if (!implemented) {
                  open.add(type.name() + "." + member);
                }
              });
    }
    return open;
  }

  /** The class itself first; those that are not there are left out. */
  private List<Declared> supertypes(String name) {
    Set<Declared> found = new LinkedHashSet<>();
    collect(name, found);
    return List.copyOf(found);
  }

  private void collect(String name, Set<Declared> found) {
    Optional<Declared> declared = find(name);
    if (declared.isPresent() && found.add(declared.get())) {
      if (declared.get().parent() != null) {
        collect(declared.get().parent(), found);
      }
      declared.get().interfaces().forEach(type -> collect(type, found));
    }
  }

  private Optional<Declared> find(String name) {
    Optional<Declared> known = cache.get(name);
    if (known == null) {
      try (InputStream in = jars.getResourceAsStream(name + ".class")) {
        known = in == null ? Optional.empty() : Optional.of(declared(new ClassReader(in)));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      cache.put(name, known);
    }
    return known;
  }

  private static Declared declared(ClassReader reader) {
    Map<String, Integer> members = new HashMap<>();
    reader.accept(
        new ClassVisitor(API) {
          @Override
          public MethodVisitor visitMethod(
              int access, String name, String descriptor, String signature, String[] thrown) {
            members.put(name + descriptor, access);
            return null;
          }

          @Override
          public FieldVisitor visitField(
              int access, String name, String descriptor, String signature, Object value) {
            members.put(name + ":" + descriptor, access);
            return null;
          }
        },
        ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
    return new Declared(
        reader.getClassName(),
        reader.getSuperName(),
        List.of(reader.getInterfaces()),
        reader.getAccess(),
        members);
  }

  /** References of one method's code. */
  private final class References extends MethodVisitor {
    private final String user;

    private References(String user) {
      super(API);
      this.user = user;
    }

    @Override
    public void visitTypeInsn(int opcode, String type) {
      requireClass(type, user);
    }

    @Override
    public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
      requireClass(descriptor, user);
    }

    @Override
    public void visitTryCatchBlock(Label start, Label end, Label handler, String type) {
      if (type != null) {
        requireClass(type, user);
      }
    }

    @Override
    public void visitLdcInsn(Object value) {
      if (value instanceof Type type && type.getSort() >= Type.ARRAY) {
        requireType(type);
      }
    }

    @Override
    public void visitMethodInsn(
        int opcode, String owner, String name, String descriptor, boolean isInterface) {
      requireMember(owner, name + descriptor, isInterface, user);
    }

    @Override
    public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
      requireMember(owner, name + ":" + descriptor, false, user);
    }

    @Override
    public void visitInvokeDynamicInsn(
        String name, String descriptor, Handle bootstrap, Object... arguments) {
      for (Object argument : arguments) {
        if (argument instanceof Handle handle) {
          boolean field = handle.getTag() <= Opcodes.H_PUTSTATIC;
          requireMember(
              handle.getOwner(),
              handle.getName() + (field ? ":" : "") + handle.getDesc(),
              handle.isInterface(),
              user);
        }
      }
      if (bootstrap.getOwner().equals("java/lang/invoke/LambdaMetafactory")) {
        String type = Type.getReturnType(descriptor).getInternalName();
        requireClass(type, user);
        requireOnlyAbstract(type, name + ((Type) arguments[0]).getDescriptor(), user);
      }
    }

    private void requireType(Type type) {
      if (type.getSort() == Type.METHOD) {
        for (Type argument : type.getArgumentTypes()) {
          requireType(argument);
        }
        requireType(type.getReturnType());
      } else if (type.getSort() >= Type.ARRAY) {
        requireClass(type.getInternalName(), user);
      }
    }
  }
}
